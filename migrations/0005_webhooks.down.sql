DROP TABLE webhook_deliveries, webhooks;
