/**
 * The conformance suite: runs every operation on every device (devices_testing.ts) with many shapes
 * (cases/, one file per operation), and compares the results with the float64 reference
 * (runner_testing.ts). Run it with and without the V8 flags of the engine. Sampling, dropout masks
 * and gradients have separate tests in this folder.
 */
import { DEVICES, testCases } from "./devices_testing.ts";
import { BRIEF, CARD_TABLES, TABLES } from "./tables_testing.ts";

for (const [name, all] of TABLES) {
  const isOfCards = CARD_TABLES.some(([other]) => other === name);
  testCases(
    `${name} agrees with the float64 reference`,
    { all, brief: BRIEF.get(name) ?? ((cases) => cases) },
    DEVICES.filter(({ isCard }) => isOfCards || !isCard),
  );
}
