/** Components that are drawn again only if one of their properties is another one. */

import { Component, type ComponentChild, type FunctionComponent, h } from "preact";

export function memo<P extends object>(Inner: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as { [name: string]: unknown };
      const names = new Set([...Object.keys(before), ...Object.keys(next)]);
      return [...names].some((name) => !Object.is(before[name], (next as { [name: string]: unknown })[name]));
    }

    override render(): ComponentChild {
      return h(Inner as FunctionComponent<object>, this.props);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
