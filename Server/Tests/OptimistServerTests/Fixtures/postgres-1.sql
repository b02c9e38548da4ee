-- The tables of this version, from its source, and some data in the form that it wrote.
CREATE TABLE optimist_settings (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
CREATE TABLE optimist_epochs (number bigint PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, life text);
CREATE TABLE optimist_schemas (
    id text COLLATE "C" NOT NULL, version bigint NOT NULL, content text NOT NULL, PRIMARY KEY (id, version));
CREATE TABLE optimist_addresses (
    address text COLLATE "C" PRIMARY KEY, account_id text COLLATE "C" NOT NULL);
CREATE INDEX optimist_addresses_by_account ON optimist_addresses (account_id);
CREATE TABLE optimist_deleted_accounts (
    account_id text COLLATE "C" PRIMARY KEY, deleted_at float8 NOT NULL, is_erased boolean NOT NULL,
    row_count bigint NOT NULL, session_count bigint NOT NULL, space_count bigint NOT NULL);
CREATE TABLE optimist_invitations (hash bytea PRIMARY KEY, ends_at float8 NOT NULL);
CREATE TABLE optimist_identities (
    issuer text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL, account_id text COLLATE "C" NOT NULL,
    linked_at float8 NOT NULL, PRIMARY KEY (issuer, subject));
CREATE INDEX optimist_identities_by_account ON optimist_identities (account_id);
CREATE TABLE optimist_spent_tokens (hash bytea PRIMARY KEY, ends_at float8 NOT NULL);
CREATE TABLE optimist_attempts (
    name text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, used float8 NOT NULL,
    updated_at float8 NOT NULL, is_refused boolean NOT NULL DEFAULT false, PRIMARY KEY (name, key));
CREATE TABLE optimist_accounts (
    account_id text COLLATE "C" PRIMARY KEY, kind text NOT NULL DEFAULT 'person', email text,
    password text NOT NULL, created_at text NOT NULL, seq bigint NOT NULL DEFAULT 0, epoch text COLLATE "C", floor bigint NOT NULL DEFAULT 0,
    day bigint, schema_version bigint NOT NULL DEFAULT 0, reported bigint NOT NULL DEFAULT 0,
    row_count bigint NOT NULL DEFAULT 0) WITH (fillfactor = 70);
CREATE TABLE optimist_account_epochs (
    account_id text COLLATE "C" NOT NULL, epoch text COLLATE "C" NOT NULL, first_seq bigint NOT NULL,
    PRIMARY KEY (account_id, epoch));
CREATE TABLE optimist_account_days (
    account_id text COLLATE "C" NOT NULL, day bigint NOT NULL, first_seq bigint NOT NULL,
    PRIMARY KEY (account_id, day));
CREATE TABLE optimist_sessions (
    account_id text COLLATE "C" NOT NULL, session_id text COLLATE "C" NOT NULL, device_id text NOT NULL,
    device_name text NOT NULL, salt bytea NOT NULL, generation bigint NOT NULL, confirmed bigint NOT NULL,
    refreshed_at float8 NOT NULL, ended text, begun_at float8, PRIMARY KEY (account_id, session_id));
CREATE TABLE optimist_resets (
    account_id text COLLATE "C" NOT NULL, hash bytea NOT NULL, ends_at float8 NOT NULL,
    PRIMARY KEY (account_id, hash));
CREATE TABLE optimist_pushes (
    account_id text COLLATE "C" NOT NULL, person_id text COLLATE "C" NOT NULL, device text COLLATE "C" NOT NULL,
    number bigint NOT NULL, day bigint NOT NULL,
    PRIMARY KEY (account_id, person_id, device)) WITH (fillfactor = 70);
CREATE TABLE optimist_members (
    account_id text COLLATE "C" NOT NULL, person_id text COLLATE "C" NOT NULL, member_id text COLLATE "C" NOT NULL,
    role text NOT NULL, joined_seq bigint NOT NULL, ended_seq bigint, reason text,
    PRIMARY KEY (account_id, person_id));
CREATE INDEX optimist_members_by_person ON optimist_members (person_id);
CREATE TABLE optimist_audit (
    account_id text COLLATE "C" NOT NULL, seq bigint NOT NULL, ordinal bigint NOT NULL, at bigint NOT NULL,
    what text NOT NULL, person_id text COLLATE "C", device text COLLATE "C", subject text, detail text,
    PRIMARY KEY (account_id, seq, ordinal));
CREATE TABLE optimist_rows (
    account_id text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
    generation bigint NOT NULL, seq bigint NOT NULL, ordinal bigint NOT NULL, born_seq bigint NOT NULL,
    content text NOT NULL, hidden text, PRIMARY KEY (account_id, type, id));
CREATE INDEX optimist_rows_in_order ON optimist_rows (account_id, seq, ordinal, type);
CREATE INDEX optimist_rows_deleted ON optimist_rows (account_id, seq) WHERE generation % 2 = 0;
CREATE TABLE optimist_index (
    account_id text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (account_id, type, name, key, id));
CREATE TABLE optimist_health_totals (
    app text COLLATE "C" NOT NULL, day bigint NOT NULL, version text COLLATE "C" NOT NULL,
    build text COLLATE "C" NOT NULL, install text COLLATE "C" NOT NULL, launches bigint NOT NULL,
    abrupt_ends bigint NOT NULL, unsent_ends bigint NOT NULL, crashes bigint NOT NULL, hangs bigint NOT NULL,
    PRIMARY KEY (app, day, version, build, install));
CREATE TABLE optimist_health_signatures (
    app text COLLATE "C" NOT NULL, signature text COLLATE "C" NOT NULL, content text NOT NULL,
    last_day bigint NOT NULL, PRIMARY KEY (app, signature));
CREATE TABLE optimist_health_signature_totals (
    app text COLLATE "C" NOT NULL, day bigint NOT NULL, version text COLLATE "C" NOT NULL,
    build text COLLATE "C" NOT NULL, install text COLLATE "C" NOT NULL, signature text COLLATE "C" NOT NULL,
    count bigint NOT NULL, unsent bigint NOT NULL,
    PRIMARY KEY (app, day, version, build, install, signature));
CREATE TABLE optimist_health_days (
    app text COLLATE "C" NOT NULL, day bigint NOT NULL, totals bigint NOT NULL, PRIMARY KEY (app, day));
INSERT INTO optimist_settings (name, value) VALUES ('version', '1');
INSERT INTO optimist_epochs (number, name) VALUES (1, 'e6efc706d2b00');
INSERT INTO optimist_addresses (address, account_id) VALUES ('ann@example.org', 'a28e67ba8d1c14a75');
INSERT INTO optimist_accounts (account_id, email, password, created_at, seq, epoch, day, row_count) VALUES
    ('a28e67ba8d1c14a75', 'ann@example.org', 'scrypt$32768$8$T2H7-PNkLlgM09kDS_dYHQ$Hj_6-KGL61qU-YxV9xSpy1eNdXx0DCkp-08d3L7DrU4',
    '2026-11-25T00:16:47.460Z', 1, 'e6efc706d2b00', 20782, 1);
INSERT INTO optimist_account_epochs (account_id, epoch, first_seq) VALUES ('a28e67ba8d1c14a75', 'e6efc706d2b00', 0);
INSERT INTO optimist_sessions (account_id, session_id, device_id, device_name, salt, generation, confirmed, refreshed_at) VALUES
    ('a28e67ba8d1c14a75', 's13d5c3e9620e45f182cc627cf4899034', 'phone', 'Phone',
    '\x224540e0a7932226818855dab7f34240', 1, 1, 1795565807.460382);
INSERT INTO optimist_rows (account_id, type, id, generation, seq, ordinal, born_seq, content) VALUES
    ('a28e67ba8d1c14a75', 'List', '00000000-0000-4000-8000-00000007a121', 1, 1, 0, 1,
    '{"id":"00000000-0000-4000-8000-00000007a121","name":"Trip","@gen":1,"@hlc":"01a2100fe80f0000-server","@seq":1}');
INSERT INTO optimist_deleted_accounts VALUES ('a0000000000000000', 1795565807.5, true, 7, 2, 0);
INSERT INTO optimist_health_totals VALUES ('campus', 20783, '1.0.1', '7', 'i', 5, 2, 1, 2, 0);
INSERT INTO optimist_health_days VALUES ('campus', 20783, 1);
