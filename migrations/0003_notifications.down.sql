DROP TABLE webhook_deliveries, webhooks, mail_refusals, mails, notification_preferences, notifications;
