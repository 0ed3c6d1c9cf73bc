/** The content of each kind of entry. */

import type { JSX } from "preact";
import { Disclosure } from "../elements/controls";
import { MarkdownText } from "../elements/foldedText";
import { formatCost, formatNumber, formatSeconds } from "../elements/format";
import { Muted, Note } from "../elements/text";
import type { ActEntry, AskEntry, Call, Card, ConcludeEntry, TaskEntry, ThinkEntry } from "../protocol";
import type { Store } from "../state/store";
import { isFinalAnswer } from "../state/trace";
import { useStore } from "../state/useStore";
import type { ViewState } from "../state/viewState";
import { Arguments } from "./arguments";
import { EntryFrame } from "./entryFrame";
import { ItemView } from "./items";
import { LongText } from "./longText";
import { Luck } from "./luck";
import { TalkedOn } from "./talkedOn";
import { TokenProbabilities } from "./tokenProbabilities";

interface EntryProps<C extends Card> {
  store: Store;
  view: ViewState;
  card: C;
  followsEdit: boolean;
}

/** Draw an entry; nothing for a kind that only a later kernel knows. */
export function EntryView(props: EntryProps<Card>): JSX.Element | null {
  const { card, ...rest } = props;
  if (card.kind === "begin") return <Task {...rest} card={card} />;
  if (card.kind === "think") return <Thought {...rest} card={card} />;
  if (card.kind === "act") return <ToolCall {...rest} card={card} />;
  if (card.kind === "ask") return <Question {...rest} card={card} />;
  if (card.kind === "conclude") return <Conclusion {...rest} card={card} />;
  return null;
}

function Task(props: EntryProps<TaskEntry>): JSX.Element {
  const { card, store } = props;
  return (
    <EntryFrame {...props} kind="task" name="task" title="Task" cost="">
      {card.messages.map((message, index) => (
        <div key={index}>
          {card.messages.length > 1 && <Muted>{message.role} </Muted>}
          <LongText store={store} card={card} field={`message${index}`} text={message.text} />
        </div>
      ))}
    </EntryFrame>
  );
}

function Thought(props: EntryProps<ThinkEntry>): JSX.Element {
  const { card, store } = props;
  const isFinal = useStore(store, (s) => isFinalAnswer(s, card));
  const kind = isFinal ? "answer" : "thought";
  return (
    <EntryFrame
      {...props}
      kind={kind}
      name={kind}
      title={card.title || (isFinal ? "Answer" : "Thought")}
      cost={thoughtCost(card, store.head.model)}
    >
      {card.heard.map((text, index) => (
        <div key={index} class="ak-injected">
          <Muted>Included your message: </Muted>
          <MarkdownText text={text} />
        </div>
      ))}
      {card.reasoning && (
        <Disclosure
          class="ak-reasoning"
          summary={`Reasoning (${formatNumber(card.long?.reasoning ?? card.reasoning.length)} characters)`}
        >
          <LongText store={store} card={card} field="reasoning" text={card.reasoning} markdown />
        </Disclosure>
      )}
      {card.text && card.text !== card.answer && (
        <LongText store={store} card={card} field="text" text={card.text} markdown />
      )}
      {card.answer !== null && (
        <LongText
          store={store}
          card={card}
          field="answer"
          text={card.answer}
          markdown
          class={isFinal ? "ak-answer" : ""}
        />
      )}
      {!card.text && card.answer === null && !card.calls.length && <Note>The reply was empty.</Note>}
      {card.cut && (
        <div class="ak-discarded">
          <Note>The model made up an observation. The rest of its reply was discarded:</Note>
          <del>
            <LongText store={store} card={card} field="cut" text={card.cut} />
          </del>
        </div>
      )}
      {card.problems.map((problem, index) => (
        <p key={index} class="ak-problem">
          {problem}
        </p>
      ))}
      {card.calls.map((call, index) => call.problem && <InvalidCall key={index} call={call} />)}
      <Luck store={store} view={props.view} card={card} />
      <TalkedOn store={store} view={props.view} card={card} />
      {card.tokens ? <TokenProbabilities store={store} card={card} /> : null}
    </EntryFrame>
  );
}

/** A call that cannot be made, and so has no entry of its own. */
function InvalidCall({ call }: { call: Call }): JSX.Element {
  return (
    <div class="ak-problem">
      <code>{call.name}</code> {call.problem}
      {call.raw && <pre class="ak-code">{call.raw}</pre>}
    </div>
  );
}

/** Return the tokens, price and time of a model call, its temperature if one was set, and its model if that is not the
 * usual one. */
function thoughtCost({ usage, seconds, model, temperature }: ThinkEntry, usualModel: string): string {
  const parts = model && model !== usualModel ? [model] : [];
  if (temperature !== undefined) parts.push(`temperature ${temperature}`);
  if (usage && usage.input + usage.output) {
    const cached = usage.cached ? ` (${formatNumber(usage.cached)} cached)` : "";
    parts.push(`${formatNumber(usage.input)} in${cached}, ${formatNumber(usage.output)} out`);
    if (usage.cost > 0) parts.push(formatCost(usage.cost));
  }
  return [...parts, formatSeconds(seconds)].join(" · ");
}

/** Who answers a call in the place of its tool. */
const NOT_RUN_BY = ["human", "gate", "hook"];

function ToolCall(props: EntryProps<ActEntry>): JSX.Element {
  const { card, store } = props;
  const { call, items, text, ok } = card;
  const wasRun = !NOT_RUN_BY.includes(card.author) || card.original > 0 || card.repeats;
  const isFolded = ok && items.length > 0 && text !== "";
  const failure = wasRun ? "failed tool call" : "tool call that was not run";
  return (
    <EntryFrame
      {...props}
      kind={ok ? "action" : "failed"}
      name={ok ? "tool call" : failure}
      title={<code class="ak-tool-name">{call.name}</code>}
      cost={formatSeconds(card.seconds)}
    >
      <Arguments call={call} />
      {call.coerced?.length ? <Note>Converted to match the tool's schema: {call.coerced.join(", ")}</Note> : null}
      <div
        class={ok ? "ak-observation" : "ak-observation ak-error"}
        role="group"
        aria-label={ok ? "Observation" : "Observation: error"}
      >
        {!ok && <span class="ak-error-label">{wasRun ? "failed" : "not run"}</span>}
        {!isFolded && <LongText store={store} card={card} field="text" text={text || "(empty)"} class="ak-mono" />}
        {items.map((item, index) => (
          <ItemView key={index} item={item} />
        ))}
        {isFolded && (
          <Disclosure summary={`As the model sees it (${formatNumber(card.long?.text ?? text.length)} characters)`}>
            <LongText store={store} card={card} field="text" text={text} class="ak-mono" />
          </Disclosure>
        )}
      </div>
    </EntryFrame>
  );
}

function Question(props: EntryProps<AskEntry>): JSX.Element {
  const { card, store } = props;
  return (
    <EntryFrame {...props} kind="question" name="question" title="Question" cost="">
      <LongText store={store} card={card} field="question" text={card.question} markdown />
      <div>
        <Muted>Answer: </Muted>
        <LongText store={store} card={card} field="text" text={card.text} />
      </div>
    </EntryFrame>
  );
}

function Conclusion(props: EntryProps<ConcludeEntry>): JSX.Element {
  const { card, store } = props;
  const before = store.cards[card.n - 1];
  const isAnswerAbove = before?.kind === "think" && before.answer === card.answer && card.more === null;
  return (
    <EntryFrame
      {...props}
      kind="conclusion"
      name="conclusion"
      title={card.more === null ? "Conclusion" : "Not finished yet"}
      cost=""
    >
      {isAnswerAbove ? (
        <Note>The answer above is final.</Note>
      ) : (
        <LongText store={store} card={card} field="answer" text={card.answer} markdown class="ak-answer" />
      )}
      {card.more !== null && (
        <div class="ak-injected">
          <Muted>Your message had to be answered first: </Muted>
          <MarkdownText text={card.more} />
        </div>
      )}
    </EntryFrame>
  );
}
