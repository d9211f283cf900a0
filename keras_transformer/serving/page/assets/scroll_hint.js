/** A region that says when there is more to its sides than can be seen. */

const MORE = "more";

/**
 * Shows a hint, and fades the region's edge, while columns are out of sight.
 *
 * @param {HTMLElement} region that scrolls; its first child is what it holds.
 * @param {HTMLElement} hint
 */
export function watchScroll(region, hint) {
  const look = () => {
    const outside = region.scrollWidth - region.clientWidth;
    hint.hidden = outside < 1;
    region.classList.toggle(MORE, outside - region.scrollLeft >= 1);
  };
  region.addEventListener("scroll", look, { passive: true });
  // Of both: a phone is turned, another sentence is shown.
  const observer = new ResizeObserver(look);
  observer.observe(region);
  observer.observe(region.firstElementChild);
}
