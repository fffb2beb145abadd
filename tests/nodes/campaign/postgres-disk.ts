import type { Postgres } from '@footbridge/testkit/servers/postgres';

/** A disk of PostgreSQL that can be full. */
export interface PostgresDisk {
  fill(): Promise<void>;
  free(): Promise<void>;
}

/**
 * Filling a real disk takes root. Here a trigger on every table fails each write with the code and the text of a full disk (53100), as
 * PostgreSQL does when it cannot extend a file; reads go on.
 */
const INSTALL = `
  CREATE SCHEMA campaign;
  CREATE TABLE campaign.disk (is_full boolean NOT NULL);
  INSERT INTO campaign.disk VALUES (false);
  CREATE FUNCTION campaign.write() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT is_full FROM campaign.disk) THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
      END IF;
      RETURN NULL;
    END $$;
  DO $$
    DECLARE name text;
    BEGIN
      FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format(
          'CREATE TRIGGER campaign_disk BEFORE INSERT OR UPDATE OR DELETE ON public.%I
           FOR EACH STATEMENT EXECUTE FUNCTION campaign.write()', name);
      END LOOP;
    END $$;
`;

export async function preparePostgresDisk(postgres: Postgres, database: string): Promise<PostgresDisk> {
  await postgres.execute(database, INSTALL);
  const set = async (isFull: boolean) => {
    await postgres.execute(database, `UPDATE campaign.disk SET is_full = ${isFull}`);
  };
  return { fill: () => set(true), free: () => set(false) };
}
