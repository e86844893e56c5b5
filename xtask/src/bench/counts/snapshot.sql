-- Everything that was counted so far, as lines of `group|count|name`. Statements are
-- those of the server alone; their values are left out, so that they add up.
SELECT to_regclass('bench.pg_stat_statements') IS NOT NULL AS counts_statements \gset
\if :counts_statements
SELECT 'statement|' || sum(calls) || '|' || left(text, 110) FROM (
  SELECT calls, regexp_replace(regexp_replace(query, '\s+', ' ', 'g'), '''[^'']*''', '?', 'g') AS text
  FROM bench.pg_stat_statements WHERE userid <> 'postgres'::regrole
    AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())) s
  GROUP BY left(text, 110);
\endif
SELECT 'transactions|' || xact_commit || '|' FROM pg_stat_database WHERE datname = current_database();
SELECT 'inserted|' || n_tup_ins || '|' || relname FROM pg_stat_user_tables WHERE schemaname = 'public';
SELECT 'updated|' || n_tup_upd || '|' || relname FROM pg_stat_user_tables WHERE schemaname = 'public';
SELECT 'deleted|' || n_tup_del || '|' || relname FROM pg_stat_user_tables WHERE schemaname = 'public';
SELECT what || '|' || count(*) || '|' || kind FROM bench.queue GROUP BY what, kind;
