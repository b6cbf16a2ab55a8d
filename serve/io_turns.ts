/**
 * Turns of the event loop that look at the network. A computation that never lets Deno wait would
 * hide it: while something is always ready to run, Deno asks the operating system for new bytes
 * only at each 61st task, so new connections would wait for dozens of tokens, however short they
 * are. A turn therefore sends a byte from this process to itself and waits until it has come. On an
 * idle core that takes about 20 µs; a timer takes one or two milliseconds.
 */

/** A connection of this process with itself. */
interface Loop {
  near: Deno.TcpConn;
  far: Deno.TcpConn;
}

export class IoTurns {
  readonly #byte = new Uint8Array(1);

  /** @param loop null: turns are timers */
  private constructor(private loop: Loop | null) {}

  /** Where no connection can be made, turns are timers: slower, and right. */
  static async open(): Promise<IoTurns> {
    try {
      return new IoTurns(await openLoop());
    } catch {
      return new IoTurns(null);
    }
  }

  /** Waits until all that has arrived before is on its way to those who wait for it. */
  turn(): Promise<void> {
    return this.loop === null ? aTimer() : this.#send(this.loop);
  }

  async #send({ near, far }: Loop): Promise<void> {
    try {
      const read = far.read(this.#byte);
      await near.write(this.#byte);
      if (await read === 1) return;
    } catch {
      // The connection has broken.
    }
    this.close();
    await aTimer();
  }

  close(): void {
    this.loop?.near.close();
    this.loop?.far.close();
    this.loop = null;
  }
}

function aTimer(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function openLoop(): Promise<Loop> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    const { hostname, port } = listener.addr;
    const near = await Deno.connect({ hostname, port });
    // Each turn is one byte, which must not wait for the next one.
    near.setNoDelay(true);
    for (;;) {
      const far = await listener.accept();
      if (far.remoteAddr.port === near.localAddr.port) return { near, far };
      far.close(); // Somebody else has connected to this port.
    }
  } finally {
    listener.close();
  }
}
