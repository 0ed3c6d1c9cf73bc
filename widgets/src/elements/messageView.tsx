/** A message of a chat: its role, its text and its tool calls. */

import type { ComponentChildren, JSX } from "preact";
import type { ChatMessage } from "../protocol";
import { messageText } from "./chat";
import { ChangedText, FoldedText } from "./foldedText";

interface MessageViewProps {
  message: ChatMessage;
  /** The previous version of a changed message. */
  before?: ChatMessage | undefined;
  class?: string;
  /** What stands beside the role. */
  children?: ComponentChildren;
  load?: () => Promise<string>;
}

export function MessageView({ message, before, class: name = "", children, ...props }: MessageViewProps): JSX.Element {
  const { role, text, calls, length } = message;
  // what a person typed and what a tool returned are shown as they are
  const isMarkdown = !/^(user|tool)/.test(role);
  return (
    <div class={`ak-message ${name}`}>
      <div class="ak-message-head">
        <b>{role}</b> {children}
      </div>
      {before ? (
        <ChangedText from={messageText(before)} to={messageText(message)} markdown={isMarkdown} />
      ) : (
        <>
          {text && <FoldedText text={text} length={length} markdown={isMarkdown} {...props} />}
          {calls.map((call, index) => (
            <FoldedText key={index} class="ak-mono" text={`→ ${call}`} />
          ))}
        </>
      )}
    </div>
  );
}
