/** The widgets of runs. */

import { Store } from "./state/store";
import css from "./style.css?inline";
import { View } from "./view/view";
import { widget } from "./widget";

export default widget({
  css,
  store: (host) => new Store(host),
  draw: (store, save) => <View store={store} save={save} />,
});
