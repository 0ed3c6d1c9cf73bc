/** The inside of each kind of entry. */

import type { JSX } from "preact";
import { Fold } from "../controls";
import { Dim, Note, thousands } from "../panels/parts";
import type { ActEntry, AskEntry, Call, Card, ConcludeEntry, TaskEntry, ThinkEntry } from "../protocol";
import type { Store } from "../store";
import type { Ui } from "../ui";
import { Arguments } from "./args";
import { Frame, seconds } from "./frame";
import { ItemView } from "./items";
import { LongText } from "./text";

interface EntryProps<C extends Card> {
  store: Store;
  ui: Ui;
  card: C;
  after: boolean;
}

export function Task(props: EntryProps<TaskEntry>): JSX.Element {
  const { card, store } = props;
  return (
    <Frame {...props} kind="task" title="Task" spent="">
      {card.messages.map((message, index) => (
        <div key={index} class="ak-said">
          {card.messages.length > 1 && <Dim>{message.role} </Dim>}
          <LongText store={store} entry={card} field={`message${index}`} text={message.text} />
        </div>
      ))}
    </Frame>
  );
}

export function Thought(props: EntryProps<ThinkEntry>): JSX.Element {
  const { card, store } = props;
  const role = card.role === "thought" ? "" : card.role;
  // what an evaluator or a planner says ends its own part, as does what an engine within another one says: it is not the answer
  const final = card.answer !== null && !role && !card.path;
  const asks = card.calls.length > 0;
  return (
    <Frame
      {...props}
      kind={final ? "answer" : "thought"}
      title={role || (final ? "Answer" : "Thought")}
      spent={spentOn(card, store.head.model)}
    >
      {card.heard.map((text, index) => (
        <p key={index} class="ak-injected">
          <Dim>carried your message: </Dim>
          {text}
        </p>
      ))}
      {card.reasoning && (
        <Fold class="ak-reasoning" summary={`reasoning (${thousands(card.long?.reasoning ?? card.reasoning.length)} characters)`}>
          <LongText store={store} entry={card} field="reasoning" text={card.reasoning} />
        </Fold>
      )}
      {card.text && card.text !== card.answer && <LongText store={store} entry={card} field="text" text={card.text} />}
      {card.answer !== null && (
        <LongText store={store} entry={card} field="answer" text={card.answer} class={final ? "ak-answer" : ""} />
      )}
      {!card.text && card.answer === null && !asks && <Note>It said nothing.</Note>}
      {card.cut && (
        <div class="ak-discarded">
          <Note>The model went on and invented an observation. This was cut off and not believed:</Note>
          <del>
            <LongText store={store} entry={card} field="cut" text={card.cut} />
          </del>
        </div>
      )}
      {card.problems.map((problem, index) => (
        <p key={index} class="ak-problem">
          {problem}
        </p>
      ))}
      {card.calls.map((call, index) => call.problem && <CallProblem key={index} call={call} />)}
    </Frame>
  );
}

/** A call that was asked for and cannot be made: no action shows it. */
function CallProblem({ call }: { call: Call }): JSX.Element {
  return (
    <div class="ak-problem">
      <code>{call.name}</code> {call.problem}
      {call.raw && <pre class="ak-code">{call.raw}</pre>}
    </div>
  );
}

function spentOn({ usage, seconds: time, model }: ThinkEntry, usual: string): string {
  const parts = model && model !== usual ? [model] : [];
  if (usage && usage.input + usage.output) {
    const cached = usage.cached ? ` (${thousands(usage.cached)} cached)` : "";
    parts.push(`${thousands(usage.input)} in${cached}, ${thousands(usage.output)} out`);
    if (usage.cost > 0) parts.push(`$${usage.cost.toFixed(usage.cost < 0.1 ? 4 : 2)}`);
  }
  return [...parts, seconds(time)].join(" · ");
}

export function Action(props: EntryProps<ActEntry>): JSX.Element {
  const { card, store } = props;
  const { call, items, text, ok } = card;
  const shown = items.length > 0;
  return (
    <Frame
      {...props}
      kind={ok ? "action" : "failed"}
      title={<code class="ak-tool-name">{call.name}</code>}
      spent={seconds(card.seconds)}
    >
      <Arguments call={call} />
      {call.coerced?.length ? <Note>changed to fit the tool: {call.coerced.join(", ")}</Note> : null}
      <div
        class={ok ? "ak-observation" : "ak-observation ak-error"}
        role="group"
        aria-label={ok ? "Observation" : "Observation, an error"}
      >
        {!ok && <span class="ak-error-label">failed</span>}
        {items.map((item, index) => (
          <ItemView key={index} item={item} />
        ))}
        {shown && text ? (
          <Fold summary={`as the model sees it (${thousands(card.long?.text ?? text.length)} characters)`}>
            <LongText store={store} entry={card} field="text" text={text} class="ak-mono" />
          </Fold>
        ) : (
          <LongText store={store} entry={card} field="text" text={text || "(nothing)"} class="ak-mono" />
        )}
      </div>
    </Frame>
  );
}

export function Question(props: EntryProps<AskEntry>): JSX.Element {
  const { card, store } = props;
  return (
    <Frame {...props} kind="question" title="Question" spent="">
      <LongText store={store} entry={card} field="question" text={card.question} />
      <div class="ak-reply">
        <Dim>answered </Dim>
        <LongText store={store} entry={card} field="text" text={card.text} />
      </div>
    </Frame>
  );
}

export function Conclusion(props: EntryProps<ConcludeEntry>): JSX.Element {
  const { card, store } = props;
  const before = store.cards[card.n - 1];
  const same = before?.kind === "think" && before.answer === card.answer;
  return (
    <Frame {...props} kind="conclusion" title={card.more === null ? "Conclusion" : "Not over yet"} spent="">
      {same && card.more === null ? (
        <Note>The answer above stands.</Note>
      ) : (
        <LongText store={store} entry={card} field="answer" text={card.answer} class="ak-answer" />
      )}
      {card.more !== null && (
        <p class="ak-injected">
          <Dim>but your message had to be answered first: </Dim>
          {card.more}
        </p>
      )}
    </Frame>
  );
}
