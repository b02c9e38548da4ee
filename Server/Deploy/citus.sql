-- This source file is part of the Optimist open source project, under the MIT licence.
--
-- Distributes the tables of a server by account over the nodes of Citus. Run it once, after `optimist serve --migrate-only`
-- and before the first process. Not tried; see Documentation/Deploying.md.

SELECT create_distributed_table('optimist_accounts', 'account_id');
SELECT create_distributed_table('optimist_account_epochs', 'account_id', colocate_with => 'optimist_accounts');
SELECT create_distributed_table('optimist_account_days', 'account_id', colocate_with => 'optimist_accounts');
SELECT create_distributed_table('optimist_sessions', 'account_id', colocate_with => 'optimist_accounts');
SELECT create_distributed_table('optimist_resets', 'account_id', colocate_with => 'optimist_accounts');
SELECT create_distributed_table('optimist_pushes', 'account_id', colocate_with => 'optimist_accounts');
SELECT create_distributed_table('optimist_members', 'account_id', colocate_with => 'optimist_accounts');
SELECT create_distributed_table('optimist_audit', 'account_id', colocate_with => 'optimist_accounts');
SELECT create_distributed_table('optimist_rows', 'account_id', colocate_with => 'optimist_accounts');
SELECT create_distributed_table('optimist_index', 'account_id', colocate_with => 'optimist_accounts');
SELECT create_distributed_table('optimist_deleted_accounts', 'account_id', colocate_with => 'optimist_accounts');
-- Its unique key is the address, so it cannot be distributed by account. A sign-up commits on two shards.
SELECT create_distributed_table('optimist_addresses', 'address', colocate_with => 'none');
-- An identity is unique on the server, and so is a spent token.
SELECT create_distributed_table('optimist_identities', 'subject', colocate_with => 'none');
SELECT create_distributed_table('optimist_spent_tokens', 'hash', colocate_with => 'none');
SELECT create_reference_table('optimist_settings');
SELECT create_reference_table('optimist_epochs');
SELECT create_reference_table('optimist_schemas');
SELECT create_reference_table('optimist_invitations');
-- optimist_attempts stays a plain table of the coordinator: a statement deletes from it by clock_timestamp(), and Citus
-- refuses a volatile function in the WHERE clause of a delete from its own tables.
