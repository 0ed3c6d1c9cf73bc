/** The tokens of a request by segment: as a bar, and as a table with the figures. */

import type { JSX } from "preact";
import { Summary } from "../elements/controls";
import { formatNumber, formatUsage } from "../elements/format";
import { Muted, Note } from "../elements/text";
import type { ModelRequest } from "../protocol";

type Segment = ModelRequest["segments"][number];

const KINDS: [kind: Segment["kind"], label: string][] = [
  ["system", "system"],
  ["tools", "tools"],
  ["task", "task"],
  ["step", "steps"],
  ["injected", "injected"],
];
const CACHE_SOURCES: { [source in ModelRequest["cached"]["says"]]: string } = {
  provider: "cached, as reported by the provider",
  prefix: "in the same prefix as the previous request",
};

export function Tokens({ request }: { request: ModelRequest }): JSX.Element {
  const { segments, tokens, estimated, cached, usage } = request;
  const total = segments.reduce((sum, segment) => sum + segment.tokens, 0) || 1;
  const cachedShare = Math.min(1, cached.tokens / (tokens || total));
  return (
    <figure>
      <figcaption>
        <b>{formatNumber(tokens)} tokens</b>
        <Muted>{estimated ? " estimated from text length" : " counted by the provider, split by text length"}</Muted>
      </figcaption>
      <div class="ak-bar" aria-hidden="true">
        {segments.map((segment, index) => (
          <i
            key={index}
            class={`ak-kind-${segment.kind}`}
            style={{ flexGrow: segment.tokens }}
            title={`${segment.label}: ${formatNumber(segment.tokens)}`}
          />
        ))}
        {cachedShare > 0 && <span class="ak-cached" style={{ width: `${cachedShare * 100}%` }} />}
      </div>
      <ul class="ak-legend">
        {KINDS.map(([kind, label]) => {
          const sum = segments.reduce((sum, segment) => sum + (segment.kind === kind ? segment.tokens : 0), 0);
          return sum ? (
            <li key={kind}>
              <i class={`ak-kind-${kind}`} /> {label} <Muted>{formatNumber(sum)}</Muted>
            </li>
          ) : null;
        })}
        {cachedShare > 0 && (
          <li>
            <i class="ak-cached" /> {formatNumber(cached.tokens)} <Muted>{CACHE_SOURCES[cached.says]}</Muted>
          </li>
        )}
      </ul>
      <details class="ak-details">
        <Summary>Tokens by segment</Summary>
        <Table segments={segments} total={total} />
      </details>
      {usage && <Note>{formatUsage(usage)}</Note>}
    </figure>
  );
}

function Table({ segments, total }: { segments: Segment[]; total: number }): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Segment</th>
          <th scope="col">Tokens</th>
          <th scope="col">Share</th>
          <th scope="col">Unchanged</th>
        </tr>
      </thead>
      <tbody>
        {segments.map((segment, index) => (
          <tr key={index}>
            <th scope="row">{segment.label}</th>
            <td>{formatNumber(segment.tokens)}</td>
            <td>{Math.round((segment.tokens / total) * 100)}%</td>
            <td>{segment.cached ? "yes" : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
