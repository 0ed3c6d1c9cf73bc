/** The arguments of a call: to be read, and to be written. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Area, Button, Choice, Field } from "../controls";
import { Dim } from "../panels/parts";
import type { Call, Json } from "../protocol";
import { JsonTree } from "./json";

type Arguments = { [name: string]: Json };
type Schema = { [name: string]: Json };

/** Characters of a value that stand on the line of its name. */
const SHORT = 100;

export function Arguments({ call }: { call: Call }): JSX.Element | null {
  const [json, setJson] = useState(false);
  const entries = Object.entries(call.arguments ?? {});
  if (call.raw !== undefined) return <pre class="ak-code">{call.raw}</pre>;
  if (!entries.length) return null;
  return (
    <div class="ak-arguments">
      {json ? (
        <pre class="ak-code">{JSON.stringify(call.arguments, null, 2)}</pre>
      ) : (
        <dl>
          {entries.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Value value={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      <Button class="ak-more ak-on-hover" aria-pressed={json} title="Show the arguments as JSON" onClick={() => setJson(!json)}>
        JSON
      </Button>
    </div>
  );
}

function Value({ value }: { value: Json }): JSX.Element {
  if (typeof value === "string") return <span class="ak-text ak-value-text">{value || '""'}</span>;
  if (value === null || typeof value !== "object") return <span class="ak-value">{String(value)}</span>;
  const short = JSON.stringify(value);
  return short.length <= SHORT ? <span class="ak-value">{short}</span> : <JsonTree value={value} depth={1} />;
}

/** How one argument is asked for; `json` is what no other box fits. */
type Kind = "text" | "number" | "integer" | "boolean" | "choice" | "json";

interface Asked {
  name: string;
  kind: Kind;
  choices: Json[];
  required: boolean;
  about: string;
}

export function asked(schema: Schema | undefined, given: Arguments): Asked[] {
  const properties = (schema?.properties ?? {}) as { [name: string]: Schema };
  const required = (schema?.required ?? []) as string[];
  const names = [...new Set([...Object.keys(properties), ...Object.keys(given)])];
  return names.map((name) => {
    const property = properties[name] ?? {};
    const choices = Array.isArray(property.enum) ? property.enum : [];
    return {
      name,
      kind: kindOf(property, choices, given[name]),
      choices,
      required: required.includes(name),
      about: typeof property.description === "string" ? property.description : "",
    };
  });
}

function kindOf(property: Schema, choices: Json[], value: Json | undefined): Kind {
  if (choices.length) return "choice";
  const type = property.type ?? (value === undefined ? "json" : typeof value);
  const fits = value === undefined || value === null || typeof value === (type === "integer" ? "number" : type);
  if (!fits) return "json"; // what the model gave is no such thing, and must be seen as it is
  if (type === "string") return "text";
  return type === "number" || type === "integer" || type === "boolean" ? type : "json";
}

/** What was written, by field; "" in a field that is not required leaves it out. */
export type Draft = { [field: string]: string };

const WHOLE = "{}";

interface FormProps {
  schema?: Schema | undefined;
  given: Arguments;
  draft: Draft;
  id: string;
  onDraft: (draft: Draft) => void;
}

/** Boxes for the arguments by their schema; or one box of JSON for all of them. */
export function ArgumentsForm({ schema, given, draft, id, onDraft }: FormProps): JSX.Element {
  const json = draft[WHOLE] !== undefined;
  const { problems } = written(schema, given, draft);
  const fields = asked(schema, given);
  const put = (name: string, text: string): void => onDraft({ ...draft, [name]: text });
  const turn = (): void => {
    if (!json) onDraft({ [WHOLE]: JSON.stringify(written(schema, given, draft).value, null, 2) });
    else onDraft(problems[WHOLE] ? {} : texts(fields, JSON.parse(draft[WHOLE] as string) as Arguments));
  };
  return (
    <div class="ak-arguments-form">
      {json ? (
        <Area
          label="Arguments as JSON"
          mono
          value={draft[WHOLE] ?? ""}
          invalid={!!problems[WHOLE]}
          onInput={(text) => put(WHOLE, text)}
        />
      ) : (
        fields.map((field, index) => (
          <div class="ak-form-row" key={field.name}>
            <label for={`${id}-${index}`}>
              {field.name}
              {!field.required && schema?.properties ? <Dim> optional</Dim> : null}
            </label>
            <Box
              field={field}
              id={`${id}-${index}`}
              text={draft[field.name] ?? textOf(field, given[field.name])}
              bad={!!problems[field.name]}
              put={(text) => put(field.name, text)}
            />
            {problems[field.name] && <span class="ak-problem">{problems[field.name]}</span>}
          </div>
        ))
      )}
      {problems[WHOLE] && <span class="ak-problem">{problems[WHOLE]}</span>}
      <Button class="ak-more ak-on-hover" aria-pressed={json} onClick={turn}>
        {json ? "as a form" : "as JSON"}
      </Button>
    </div>
  );
}

interface BoxProps {
  field: Asked;
  id: string;
  text: string;
  bad: boolean;
  put: (text: string) => void;
}

function Box({ field, id, text, bad, put }: BoxProps): JSX.Element {
  const { kind, name, about } = field;
  const onInput = (event: { currentTarget: HTMLInputElement | HTMLSelectElement }): void => put(event.currentTarget.value);
  if (kind === "boolean" || kind === "choice") {
    const options = kind === "boolean" ? ["true", "false"] : field.choices.map((choice) => JSON.stringify(choice));
    return (
      <Choice id={id} title={about} value={text} aria-invalid={bad} onChange={onInput}>
        {(!field.required || !options.includes(text)) && <option value="">not given</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </Choice>
    );
  }
  if (kind === "number" || kind === "integer") {
    return <Field id={id} title={about} inputMode="decimal" autocomplete="off" value={text} aria-invalid={bad} onInput={onInput} />;
  }
  return <Area label={name} least={1} value={text} mono={kind === "json"} invalid={bad} onInput={put} />;
}

function textOf({ kind }: Asked, value: Json | undefined): string {
  if (value === undefined) return "";
  return kind === "text" && typeof value === "string" ? value : JSON.stringify(value, null, kind === "json" ? 2 : 0);
}

function texts(fields: Asked[], value: Arguments): Draft {
  return Object.fromEntries(fields.map((field) => [field.name, textOf(field, value[field.name])]));
}

/** What a draft says, and what of it cannot be read. */
export function written(schema: Schema | undefined, given: Arguments, draft: Draft): { value: Arguments; problems: Draft } {
  const problems: Draft = {};
  const whole = draft[WHOLE];
  if (whole !== undefined) {
    const value = read(whole, WHOLE, problems);
    if (!problems[WHOLE] && (typeof value !== "object" || value === null || Array.isArray(value)))
      problems[WHOLE] = "Arguments are a JSON object: {…}";
    return { value: (problems[WHOLE] ? given : value) as Arguments, problems };
  }
  const value: Arguments = {};
  for (const field of asked(schema, given)) {
    const text = draft[field.name];
    const before = given[field.name];
    if (text === undefined || text === textOf(field, before)) {
      if (before !== undefined) value[field.name] = before;
    } else if (text !== "" || (field.kind === "text" && (field.required || before !== undefined))) {
      value[field.name] = field.kind === "text" ? text : read(text, field.name, problems, field.kind);
    }
  }
  return { value, problems };
}

function read(text: string, name: string, problems: Draft, kind: Kind = "json"): Json {
  try {
    const value = JSON.parse(text) as Json;
    if (kind === "integer" && !Number.isInteger(value)) problems[name] = "This is no whole number.";
    if (kind === "number" && typeof value !== "number") problems[name] = "This is no number.";
    return value;
  } catch {
    problems[name] = kind === "integer" || kind === "number" ? "This is no number." : "This is no JSON.";
    return null;
  }
}
