// What is amiss in the looks of a view, as far as a program can tell: it is too wide, or open to JupyterLab's shortcuts.
(root) => {
  const all = (selector) => [...root.querySelectorAll(selector)];
  const upwards = (e) => (e && e !== root ? [e, ...upwards(e.parentElement)] : []);
  const said = (what) => (e) => `${what}: ${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`;

  const edge = root.getBoundingClientRect().right + 1;
  const clipped = (e) => upwards(e.parentElement).some((up) => getComputedStyle(up).overflowX !== "visible");
  const wide = all("*").filter((e) => e.getBoundingClientRect().right > edge && !clipped(e));

  const focusable = "button, input, select, textarea, summary, a[href], [tabindex]";
  const open = all(focusable).filter((e) => e.dataset.lmSuppressShortcuts !== "true");

  return [...wide.map(said("too wide")), ...open.map(said("open to shortcuts"))];
}
