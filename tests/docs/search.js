// Prints the pages that a built site's search finds, without a browser.
//
//   node search.js FOLDER QUERY
const fs = require("fs");
const vm = require("vm");

const [folder, query] = process.argv.slice(2);
const document = {
  addEventListener() {},
  getElementById: () => ({}),
  querySelectorAll: () => [],
};
const context = vm.createContext({ document, query, _ready() {}, console });
context.window = context;
context.SPHINX_HIGHLIGHT_ENABLED = false;

const load = (name) =>
  vm.runInContext(fs.readFileSync(`${folder}/${name}`, "utf8"), context);
load("_static/searchtools.js");
load("_static/language_data.js");
vm.runInContext("Search.setIndex = (index) => { Search._index = index }", context);
load("searchindex.js");
vm.runInContext(
  `for (const [name] of Search._performSearch(...Search._parseQuery(query)))
     console.log(name);`,
  context,
);
