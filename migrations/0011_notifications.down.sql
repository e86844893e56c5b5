ALTER TABLE allocations DROP COLUMN lease_told_for;
DROP TABLE mail_refusals;
DROP TABLE mails;
DROP TABLE notification_preferences;
DROP TABLE notifications;
