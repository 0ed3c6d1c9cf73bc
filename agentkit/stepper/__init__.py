"""One engine, held at its pending steps. Pure: no I/O."""
