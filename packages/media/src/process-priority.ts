import { setPriority } from 'node:os';

/** Sets the niceness of this process. Does nothing if the system denies it, as a service manager's sandbox may. */
export function setPriorityIfAllowed(niceness: number): void {
  try {
    setPriority(niceness);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SYSTEM_ERROR')) throw error;
  }
}
