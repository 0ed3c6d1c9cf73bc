/** What JSX elements are made with in the built module: the short form, which makes it 4 kB smaller. */

export { Fragment, h } from "preact";
