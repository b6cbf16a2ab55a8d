/**
 * Checksums of event files, both bit-reflected: CRC-32C (Castagnoli) for TensorBoard and CRC-32
 * (IEEE, the one of zlib) for W&B.
 */

export type Crc = (...parts: readonly Uint8Array[]) => number;

/** Check value of "123456789": e3069283. */
export const crc32c: Crc = crcOf(0x82f63b78);

/** Check value of "123456789": cbf43926. */
export const crc32: Crc = crcOf(0xedb88320);

function crcOf(polynomial: number): Crc {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    for (let bit = 0; bit < 8; bit++) byte = byte >>> 1 ^ (byte & 1 ? polynomial : 0);
    return byte;
  });
  return (...parts) => {
    let crc = 0xffffffff;
    for (const part of parts) {
      for (const byte of part) crc = crc >>> 8 ^ table[(crc ^ byte) & 0xff]!;
    }
    return (crc ^ 0xffffffff) >>> 0;
  };
}
