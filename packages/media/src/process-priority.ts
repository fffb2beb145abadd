import { setPriority } from 'node:os';

/** Sets the niceness of this process. Without effect where the system denies it, as the sandbox of a service manager may. */
export function setPriorityIfAllowed(niceness: number): void {
  try {
    setPriority(niceness);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SYSTEM_ERROR')) throw error;
  }
}
