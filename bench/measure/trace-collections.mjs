// Preloaded into a candidate: V8 prints every garbage collection. NODE_OPTIONS does not accept this flag.
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--trace-gc');
