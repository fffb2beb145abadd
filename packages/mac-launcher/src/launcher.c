/*
 * The main executable of "Footbridge Agent.app". macOS attributes the permissions of the agent to this program: it starts the
 * agent as a child and stays its parent. It never changes, because a changed program would lose the permissions.
 *
 * It has its own prototypes, because it is built without Apple's headers.
 */

typedef unsigned long size_t;
typedef int pid_t;
typedef void (*signal_handler)(int);

extern int posix_spawn(pid_t *pid, const char *path, const void *file_actions, const void *attributes,
                       char *const argv[], char *const envp[]);
extern pid_t waitpid(pid_t pid, int *status, int options);
extern int kill(pid_t pid, int signal);
extern signal_handler signal(int number, signal_handler handler);
extern char *getenv(const char *name);
extern size_t strlcpy(char *to, const char *from, size_t size);
extern size_t strlcat(char *to, const char *from, size_t size);
extern size_t strlen(const char *text);
extern long write(int file, const void *bytes, size_t count);
extern int *__error(void);

enum { SIGHUP_ = 1, SIGINT_ = 2, SIGTERM_ = 15, EINTR_ = 4, STDERR = 2, PATH_SIZE = 1024 };
enum { EX_OSERR_ = 71, EX_CONFIG_ = 78 };

/* Relative to the home directory. An update replaces what `current` points to, never this program. */
static const char FOLDER[] = "/Library/Application Support/Footbridge/current";

static volatile pid_t child;
static volatile int stop_signal;

static void forward(int number) {
  stop_signal = number;
  if (child > 0) kill(child, number);
}

static int fail(const char *message, int code) {
  write(STDERR, message, strlen(message));
  return code;
}

static int in_folder(char *path, const char *home, const char *name) {
  strlcpy(path, home, PATH_SIZE);
  strlcat(path, FOLDER, PATH_SIZE);
  return strlcat(path, name, PATH_SIZE) < PATH_SIZE;
}

int main(int argc, char **argv, char **envp) {
  (void)argc;
  (void)argv;
  static char node[PATH_SIZE];
  static char program[PATH_SIZE];
  const char *home = getenv("HOME");
  if (home == 0 || !in_folder(node, home, "/node") || !in_folder(program, home, "/agent.mjs"))
    return fail("Footbridge Agent: HOME is not set or too long.\n", EX_CONFIG_);

  signal(SIGHUP_, forward);
  signal(SIGINT_, forward);
  signal(SIGTERM_, forward);

  char *const arguments[] = {node, program, "run", 0};
  pid_t started;
  if (posix_spawn(&started, node, 0, 0, arguments, envp) != 0)
    return fail("Footbridge Agent: the agent is not installed. Run: npx footbridge-agent setup\n", EX_CONFIG_);
  child = started;
  /* A signal may have arrived before the child was known. */
  if (stop_signal != 0) kill(child, stop_signal);

  int status = 0;
  while (waitpid(child, &status, 0) != child) {
    if (*__error() != EINTR_) return EX_OSERR_;
  }
  const int signalled = status & 0x7f;
  return signalled == 0 ? (status >> 8) & 0xff : 128 + signalled;
}
