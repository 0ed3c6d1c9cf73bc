/** Numbers, amounts and errors as text. */

import type { Usage } from "../protocol";

export function formatNumber(number: number): string {
  return number.toLocaleString("en");
}

/** Return "1 step", "2 steps". */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${formatNumber(number)} ${number === 1 ? singular : plural}`;
}

export function formatSeconds(seconds: number): string {
  return seconds >= 1 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds * 1_000)} ms`;
}

/** Return US dollars, with more digits for small amounts. */
export function formatCost(cost: number): string {
  return `$${cost.toFixed(cost < 0.1 ? 4 : 2)}`;
}

export function formatUsage(usage: Usage): string {
  const parts = [`${count(usage.input, "token")} in`, `${formatNumber(usage.output)} out`];
  if (usage.cached) parts.push(`${formatNumber(usage.cached)} cached`);
  if (usage.reasoning) parts.push(`${formatNumber(usage.reasoning)} reasoning`);
  if (usage.cost) parts.push(formatCost(usage.cost));
  return parts.join(" · ");
}

/** The most characters of one text in a panel, which is there for comparison: the card has the full text. */
const MAX_LENGTH = 8_000;

export function truncate(text: string): string {
  const rest = text.length - MAX_LENGTH;
  return rest > 0 ? `${text.slice(0, MAX_LENGTH)} … ${count(rest, "more character")}` : text;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
