/** A form for the arguments of a call: a field for each, or a single one with all of them as JSON. */

import type { JSX } from "preact";
import { Button, Select, TextArea, TextField } from "../elements/controls";
import { Muted } from "../elements/text";
import type { JsonObject } from "../protocol";
import {
  ALL_AS_JSON,
  type ArgumentField,
  argumentFields,
  type Draft,
  draftOf,
  fieldText,
  readDraft,
} from "./argumentFields";

interface ArgumentsFormProps {
  schema?: JsonObject | undefined;
  values: JsonObject;
  draft: Draft;
  /** A prefix for the ids of the fields. */
  id: string;
  onDraft: (draft: Draft) => void;
}

export function ArgumentsForm({ schema, values, draft, id, onDraft }: ArgumentsFormProps): JSX.Element {
  const json = draft[ALL_AS_JSON];
  const { value, problems } = readDraft(schema, values, draft);
  const fields = argumentFields(schema, values);
  const set = (name: string, text: string): void => onDraft({ ...draft, [name]: text });
  const switchMode = (): void => {
    if (json === undefined) onDraft({ [ALL_AS_JSON]: JSON.stringify(value, null, 2) });
    else onDraft(problems[ALL_AS_JSON] ? {} : draftOf(fields, value));
  };
  return (
    <div class="ak-arguments-form">
      {json === undefined ? (
        fields.map((field, index) => (
          <div class="ak-form-row" key={field.name}>
            <label for={`${id}-${index}`}>
              {field.name}
              {!field.required && schema?.properties ? <Muted> optional</Muted> : null}
            </label>
            <FieldControl
              field={field}
              id={`${id}-${index}`}
              text={draft[field.name] ?? fieldText(field, values[field.name])}
              invalid={!!problems[field.name]}
              onText={(text) => set(field.name, text)}
            />
            {problems[field.name] && <span class="ak-problem">{problems[field.name]}</span>}
          </div>
        ))
      ) : (
        <TextArea
          label="Arguments as JSON"
          mono
          value={json}
          invalid={!!problems[ALL_AS_JSON]}
          onInput={(text) => set(ALL_AS_JSON, text)}
        />
      )}
      {problems[ALL_AS_JSON] && <span class="ak-problem">{problems[ALL_AS_JSON]}</span>}
      <Button class="ak-more ak-on-hover" aria-pressed={json !== undefined} onClick={switchMode}>
        {json === undefined ? "Edit as JSON" : "Edit as form"}
      </Button>
    </div>
  );
}

interface FieldControlProps {
  field: ArgumentField;
  id: string;
  text: string;
  invalid: boolean;
  onText: (text: string) => void;
}

function FieldControl({ field, id, text, invalid, onText }: FieldControlProps): JSX.Element {
  const { type, name, description, required } = field;
  const onInput = (event: { currentTarget: HTMLInputElement | HTMLSelectElement }): void =>
    onText(event.currentTarget.value);
  if (type === "boolean" || type === "choice") {
    const options = type === "boolean" ? ["true", "false"] : field.choices.map((choice) => JSON.stringify(choice));
    return (
      <Select id={id} title={description} value={text} aria-invalid={invalid} onChange={onInput}>
        {(!required || !options.includes(text)) && <option value="">(not set)</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </Select>
    );
  }
  if (type === "number" || type === "integer") {
    return (
      <TextField
        id={id}
        title={description}
        inputMode="decimal"
        autocomplete="off"
        value={text}
        aria-invalid={invalid}
        onInput={onInput}
      />
    );
  }
  return <TextArea label={name} minRows={1} value={text} mono={type === "json"} invalid={invalid} onInput={onText} />;
}
