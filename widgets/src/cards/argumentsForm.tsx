/** A form for the arguments of a call: a field for each, or a single one with all of them as JSON. */

import type { JSX } from "preact";
import { Button, Select, TextArea, TextField } from "../elements/controls";
import { toJson } from "../elements/exactNumber";
import { Muted } from "../elements/text";
import type { Json, JsonObject } from "../protocol";
import {
  ALL_AS_JSON,
  type ArgumentField,
  argumentFields,
  asForm,
  asJson,
  type Draft,
  fieldText,
  own,
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
  const { problems } = readDraft(schema, values, draft);
  const fields = argumentFields(schema, values, draft);
  const form = json === undefined ? null : asForm(schema, values, draft);
  const set = (name: string, text: string): void => onDraft({ ...draft, [name]: text });
  const switchMode = (): void => {
    if (json === undefined) onDraft(asJson(schema, values, draft));
    else if (form) onDraft(form);
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
              text={own(draft, field.name) ?? fieldText(field, own(values, field.name))}
              value={own(values, field.name)}
              invalid={!!own(problems, field.name)}
              onText={(text) => set(field.name, text)}
            />
            {own(problems, field.name) && (
              <span class="ak-problem" role="status">
                {own(problems, field.name)}
              </span>
            )}
          </div>
        ))
      ) : (
        <TextArea
          label="Arguments as JSON"
          mono
          minRows={4}
          value={json}
          invalid={!!problems[ALL_AS_JSON]}
          onInput={(text) => set(ALL_AS_JSON, text)}
        />
      )}
      {problems[ALL_AS_JSON] && (
        <span class="ak-problem" role="status">
          {problems[ALL_AS_JSON]}
        </span>
      )}
      <Button
        class="ak-more ak-on-hover"
        aria-pressed={json !== undefined}
        aria-disabled={json !== undefined && !form}
        title={json !== undefined && !form ? "Correct the JSON first, so that nothing of it is lost" : undefined}
        onClick={switchMode}
      >
        {json === undefined ? "Edit as JSON" : "Edit as form"}
      </Button>
    </div>
  );
}

interface FieldControlProps {
  field: ArgumentField;
  id: string;
  text: string;
  /** The value before it was edited. */
  value: Json | undefined;
  invalid: boolean;
  onText: (text: string) => void;
}

function FieldControl({ field, id, text, value, invalid, onText }: FieldControlProps): JSX.Element {
  const { type, name, description, required } = field;
  const onInput = (event: { currentTarget: HTMLInputElement | HTMLSelectElement }): void =>
    onText(event.currentTarget.value);
  if (type === "boolean" || type === "choice") {
    const options = type === "boolean" ? ["true", "false"] : field.choices.map((choice) => toJson(choice));
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
  if (type === "object") {
    const inside = typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
    return (
      <fieldset aria-label={name}>
        <ArgumentsForm
          id={id}
          schema={field.schema}
          values={inside}
          draft={JSON.parse(text || "{}") as Draft}
          onDraft={(draft) => onText(JSON.stringify(draft))}
        />
      </fieldset>
    );
  }
  const label = type === "lines" ? `${name}, one item on each line` : name;
  const rows = type === "json" ? 3 : type === "lines" ? 2 : 1;
  return (
    <TextArea
      label={label}
      placeholder={type === "lines" ? "One item on each line" : ""}
      minRows={rows}
      value={text}
      mono={type === "json" || type === "lines"}
      invalid={invalid}
      onInput={onText}
    />
  );
}
