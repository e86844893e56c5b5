DROP TRIGGER open_books ON organizations;
DROP TRIGGER mark_usage ON allocations;
DROP TABLE checkpoints, entries, journals, accounts, books;
DROP FUNCTION open_books, unposted, mark_usage, check_entries, guard_books, journal_head, journal_hash, entry_text, usage_text, epoch_us, books_key, price_key;
DROP TABLE usage;
DROP FUNCTION keep_for_ever, accrued, app_clock;
DROP INDEX allocations_active;
ALTER TABLE allocations DROP COLUMN currency;
DELETE FROM work WHERE kind = 'books';
