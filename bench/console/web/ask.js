// Asks the server for figures. The page runs this module before all others are there, so that the
// first figures come while the rest of the page loads.

// Returns the answer of the server. The field is proof that this page asks: a page of another site
// cannot send it.
export function ask(what) {
  return fetch(`api/${what}`, { cache: "no-store", headers: { "X-Mehari-Console": "1" } });
}

let first = document.hidden ? null : ask("now");
first?.catch(() => {}); // whoever takes the answer gets the error too

// Returns the first answer for the page Now, but only once.
export function takeFirst() {
  const taken = first;
  first = null;
  return taken;
}
