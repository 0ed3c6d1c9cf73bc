/** When the views draw what has arrived. */

/** How many frames stay free after one in which was drawn. */
const FREE_FRAMES = 3;

/**
 * Calls `draw` in the next frame, however often that was requested, and then leaves some frames free: while a run plays
 * at full speed, the page has time for a click on Pause and for the messages that arrive.
 */
export class Frames {
  private isRequested = false;
  private id = 0;

  constructor(private readonly draw: () => void) {}

  request(): void {
    this.isRequested = true;
    if (!this.id) this.wait(0);
  }

  close(): void {
    cancelAnimationFrame(this.id);
  }

  private wait(free: number): void {
    this.id = requestAnimationFrame(() => {
      this.id = 0;
      if (free > 0) this.wait(free - 1);
      else if (this.isRequested) {
        this.isRequested = false;
        this.draw();
        this.wait(FREE_FRAMES);
      }
    });
  }
}
