/** The audit trail: what was asked, decided, called and answered in this run, as the audit log has it. */

import type { JSX } from "preact";
import { count } from "../elements/format";
import { ErrorMessage, Muted, Note } from "../elements/text";
import type { Store } from "../state/store";
import { useHead, useQuery } from "../state/useStore";
import { Panel } from "./panel";

export function AuditTrail({ store }: { store: Store }): JSX.Element {
  const { audit, status } = useHead(store);
  const lastEntry = status === "running" ? "" : store.cards[store.cards.length - 1]?.id;
  const { value, error } = useQuery(store, `${status} ${lastEntry}`, { cmd: "audit" });
  return (
    <Panel name="audit" label="Audit">
      {value && (
        <>
          <Note>
            {value.problems.length
              ? `${count(value.problems.length, "problem")} in ${audit}:`
              : `${audit}: all ${count(value.total, "line")} are as they were written.`}
          </Note>
          {value.problems.map((problem) => (
            <ErrorMessage key={problem} text={problem} />
          ))}
          <ol class="ak-list">
            {value.lines.map(({ number, at, kind, text, why }) => (
              <li key={number}>
                <span>
                  <b>{kind}</b> {text} <Muted>{`${at.slice(11, 19)}, line ${number}`}</Muted>
                  {why && <span class="ak-muted ak-audit-why">{why}</span>}
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
      <ErrorMessage text={error} />
    </Panel>
  );
}
