/** What all views of a page have in common, for as long as the page is open. */

const PRESENTING = "agentkit-presenting";

class PageState {
  /** Whether the views are in presentation mode. */
  isPresenting = read(PRESENTING) === "true";
  private readonly listeners = new Set<() => void>();

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  present(isPresenting: boolean): void {
    this.isPresenting = isPresenting;
    write(PRESENTING, String(isPresenting));
    for (const listener of [...this.listeners]) listener();
  }
}

/** Some hosts do not allow a page to store anything. */
function read(name: string): string | null {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    sessionStorage.setItem(name, value);
  } catch {
    // then it is forgotten when the page is left
  }
}

export const PAGE = new PageState();
