// Runs the command line in this process.
import '../src/main.ts';
