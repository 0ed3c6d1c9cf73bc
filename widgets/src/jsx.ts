/** The JSX factory, which build.mjs injects into every module. */

export { Fragment, h } from "preact";
