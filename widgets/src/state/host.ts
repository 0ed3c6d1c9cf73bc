/** What the page around a view does for its store. */

import type { Abilities, NotebookCell, ToKernel } from "../protocol";

export interface Host {
  send: (message: ToKernel) => void;
  can: Abilities;
  /** Insert cells below the view. Return how many were inserted. */
  insert: (cells: NotebookCell[]) => number;
  /** Replace the outputs of a moment. Return how many were replaced. */
  setMoment: (moment: number, data: { [mime: string]: string }) => number;
  /** Open a view beside the notebook. Return 0 if that is impossible. */
  dock: () => number;
  /** Whether the thing is to be seen in this page. */
  isShown: () => boolean;
  /** Whether the kernel is known to be busy. */
  isKernelBusy?: () => boolean;
}
