/** Return a function that works on one value at a time; of those that come in the meantime, only the newest is kept. */
export function newest<T>(work: (value: T) => Promise<unknown>): (value: T) => Promise<void> {
  let waiting: { value: T } | undefined;
  let isBusy = false;
  return async (value) => {
    waiting = { value };
    if (isBusy) return;
    isBusy = true;
    try {
      for (let next = waiting as { value: T } | undefined; next; next = waiting) {
        waiting = undefined;
        await work(next.value);
      }
    } finally {
      isBusy = false;
    }
  };
}
