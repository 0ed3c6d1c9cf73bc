// Problems in the appearance of a view that a program can find: elements that are too wide, or that leak shortcuts.
(root) => {
  const all = (selector) => [...root.querySelectorAll(selector)];
  const ancestors = (e) => (e && e !== root ? [e, ...ancestors(e.parentElement)] : []);
  const describe = (what) => (e) => `${what}: ${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`;

  const edge = root.getBoundingClientRect().right + 1;
  const clipped = (e) => ancestors(e.parentElement).some((parent) => getComputedStyle(parent).overflowX !== "visible");
  const wide = all("*").filter((e) => e.getBoundingClientRect().right > edge && !clipped(e));

  const focusable = "button, input, select, textarea, summary, a[href], [tabindex]";
  const leaking = all(focusable).filter((e) => e.dataset.lmSuppressShortcuts !== "true");

  return [...wide.map(describe("too wide")), ...leaking.map(describe("leaks shortcuts"))];
}
