/** The widgets of experiments: a module of its own, which only pages that show one load. */

import { TableStore } from "./table/tableStore";
import { TableView } from "./table/tableView";
import css from "./tableStyle.css?inline";
import { widget } from "./widget";

export default widget({
  css,
  store: (host) => new TableStore(host),
  draw: (store, save) => <TableView store={store} save={save} />,
});
