/** When the views draw what has arrived. */

/** How many frames stay free after one in which was drawn. */
const FREE_FRAMES = 3;

/**
 * Calls `draw` in the next frame, however often that was requested, and then leaves some frames free: while a run plays
 * at full speed, the page has time for a click on Pause and for the messages that arrive. What somebody waits for is
 * drawn in the next frame all the same.
 */
export class Frames {
  private isRequested = false;
  private id = 0;
  /** How many frames are still to be left free. */
  private free = 0;

  constructor(private readonly draw: () => void) {}

  request(isAwaited = false): void {
    this.isRequested = true;
    if (isAwaited) this.free = 0;
    if (!this.id) this.wait();
  }

  close(): void {
    cancelAnimationFrame(this.id);
  }

  private wait(): void {
    this.id = requestAnimationFrame(() => {
      this.id = 0;
      if (this.free > 0) this.free--;
      else if (this.isRequested) {
        this.isRequested = false;
        this.draw();
        this.free = FREE_FRAMES;
      } else return;
      this.wait();
    });
  }
}
