/** What the pages do: code is copied, the sidebar shows where one is. */

const WORDS = {
  en: { copy: "Copy", copied: "Copied", failed: "Press Ctrl+C" },
  zh: { copy: "复制", copied: "已复制", failed: "请按 Ctrl+C" },
}[document.documentElement.lang.slice(0, 2)];
// How long it is said that something was copied.
const SAID_MS = 2000;

function addCopyButton(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = WORDS.copy;
  button.addEventListener("click", async () => {
    const code = block.querySelector("pre");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = WORDS.copied;
    } catch {
      // A browser may forbid it to a page that is a file.
      getSelection().selectAllChildren(code);
      button.textContent = WORDS.failed;
    }
    setTimeout(() => (button.textContent = WORDS.copy), SAID_MS);
  });
  block.append(button);
}

/** The page's own entry in the middle; nothing else on the page moves. */
function scrollSidebar() {
  const sidebar = document.querySelector(".sidebar-scroll");
  const entry = sidebar?.querySelector(".current-page > a");
  if (!entry) return;
  const { top, height } = entry.getBoundingClientRect();
  const middle = sidebar.getBoundingClientRect().top + sidebar.clientHeight / 2;
  sidebar.scrollTo({ top: top + height / 2 - middle, behavior: "instant" });
}

document.addEventListener("DOMContentLoaded", () => {
  // What a program prints isn't typed by anyone.
  document
    .querySelectorAll("div:is(.highlight-python, .highlight-sh, .highlight-bash, .highlight-yaml)")
    .forEach(addCopyButton);
  scrollSidebar();
});
