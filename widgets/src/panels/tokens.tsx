/** What a request is made of, in tokens: a bar for the eye, a table for the figures. */

import type { JSX } from "preact";
import type { RequestView } from "../protocol";
import { Dim, Note, QUIET, spent, thousands } from "./parts";

type Segment = RequestView["segments"][number];

const KINDS: [Segment["kind"], string][] = [
  ["system", "system"],
  ["tools", "tools"],
  ["task", "task"],
  ["step", "steps"],
  ["injected", "injected"],
];

export function Tokens({ request }: { request: RequestView }): JSX.Element {
  const { segments, tokens, estimated, cached, usage } = request;
  const total = segments.reduce((sum, segment) => sum + segment.tokens, 0) || 1;
  const share = Math.min(1, cached.tokens / (tokens || total));
  const who = cached.says === "provider" ? "read from the cache, says the provider" : "the same beginning as the request before";
  return (
    <figure class="ak-tokens">
      <figcaption>
        <b>{thousands(tokens)} tokens</b>
        <Dim>{estimated ? " estimated from the length" : " counted by the provider, shared out by length"}</Dim>
      </figcaption>
      <div class="ak-bar" aria-hidden="true">
        {segments.map((segment, index) => (
          <i
            key={index}
            class={`ak-kind-${segment.kind}`}
            style={{ flexGrow: segment.tokens }}
            title={`${segment.label}: ${thousands(segment.tokens)}`}
          />
        ))}
        {share > 0 && <span class="ak-cached" style={{ width: `${share * 100}%` }} />}
      </div>
      <ul class="ak-legend">
        {KINDS.map(([kind, name]) => {
          const sum = segments.reduce((all, segment) => all + (segment.kind === kind ? segment.tokens : 0), 0);
          return sum ? (
            <li key={kind}>
              <i class={`ak-kind-${kind}`} /> {name} <Dim>{thousands(sum)}</Dim>
            </li>
          ) : null;
        })}
        {share > 0 && (
          <li>
            <i class="ak-cached" /> {thousands(cached.tokens)} <Dim>{who}</Dim>
          </li>
        )}
      </ul>
      <details class="ak-details">
        <summary {...QUIET}>Tokens by segment</summary>
        <Table segments={segments} total={total} />
      </details>
      {usage && <Note>{spent(usage)}</Note>}
    </figure>
  );
}

function Table({ segments, total }: { segments: Segment[]; total: number }): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">segment</th>
          <th scope="col">tokens</th>
          <th scope="col">share</th>
          <th scope="col">as before</th>
        </tr>
      </thead>
      <tbody>
        {segments.map((segment, index) => (
          <tr key={index}>
            <th scope="row">{segment.label}</th>
            <td>{thousands(segment.tokens)}</td>
            <td>{Math.round((segment.tokens / total) * 100)} %</td>
            <td>{segment.cached ? "yes" : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
