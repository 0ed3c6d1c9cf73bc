/** Hooks that connect components to a store: what it holds, what the kernel answers, and what it refuses. */

import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { errorText } from "../elements/format";
import type { Command, Head, ResultOf } from "../protocol";
import type { Store } from "./store";

interface Observable {
  subscribe: (listener: () => void) => () => void;
}

/** Return a selected value of a store or of the view state; redraw the component only when that value changes. */
export function useStore<S extends Observable, T>(source: S, select: (source: S) => T): T {
  const [, redraw] = useReducer((count: number, _: undefined) => count + 1, 0);
  const current = { select, value: select(source) };
  const latest = useRef(current);
  latest.current = current;
  useLayoutEffect(() => {
    const check = (): void => {
      const { select, value } = latest.current;
      if (!Object.is(select(source), value)) redraw(undefined);
    };
    check(); // it may have changed since it was drawn
    return source.subscribe(check);
  }, [source]);
  return current.value;
}

export function useHead(store: Store): Head {
  return useStore(store, ({ head }) => head);
}

interface QueryResult<T> {
  value?: T;
  error?: string;
}

/**
 * Send a query, and again whenever `key` changes; null sends nothing. The last result stays until the next one arrives.
 */
export function useQuery<C extends Command>(store: Store, key: string, query: C | null): QueryResult<ResultOf<C>> {
  const [result, setResult] = useState<QueryResult<ResultOf<C>>>({});
  useEffect(() => {
    if (!query) return;
    let isCurrent = true;
    store.execute(query).then(
      (value) => isCurrent && setResult({ value }),
      (error) => isCurrent && setResult({ error: errorText(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [store, key]);
  return result;
}

type Execute = <C extends Command>(command: C) => Promise<ResultOf<C> | undefined>;

/** Return a function that executes commands, with undefined as the result of a refused one, and the last refusal. */
export function useCommand(store: Store): [execute: Execute, error: string] {
  const [error, setError] = useState("");
  const execute: Execute = async (command) => {
    try {
      const result = await store.execute(command);
      setError("");
      return result;
    } catch (error) {
      setError(errorText(error));
      return undefined;
    }
  };
  return [execute, error];
}
