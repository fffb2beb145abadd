// `pm2 start ecosystem.config.cjs` in the folder where `npm install footbridge-VERSION.tgz` was run.
module.exports = {
  apps: [
    {
      name: 'footbridge',
      script: 'node_modules/footbridge/service/src/main.js',
      // One process per port. Several nodes need PostgreSQL and Redis; pm2's cluster mode would give all of them one port.
      exec_mode: 'fork',
      instances: 1,
      // The service says when it is ready and drains when it is stopped.
      wait_ready: true,
      listen_timeout: 60_000,
      kill_timeout: 30_000,
      // Retries a start that fails because PostgreSQL or Redis is not up yet, with a backoff of up to 15 s, but not after invalid settings.
      exp_backoff_restart_delay: 1000,
      stop_exit_codes: [3],
      // The probe of a supervisor: GET /health?pm2=1
      env: { NODE_ENV: 'production', DATA_DIR: './data' },
    },
  ],
};
