CREATE TABLE items (id bigint, user_id text, name text, done boolean, count int, price float8, due timestamptz, list text, tags jsonb);
INSERT INTO items VALUES
    (1, 'UID', 'Milk', true, 2, 1.5, '2026-11-28 11:00:00.123+01', 'groceries', '["cold", 1]'),
    (2, 'UID', E'A "quoted"\nname', false, NULL, NULL, NULL, NULL, NULL);
