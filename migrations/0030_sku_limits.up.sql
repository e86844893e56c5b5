-- What a login of the SKU may use of a host besides GPUs; its part of the host where empty.
ALTER TABLE skus ADD COLUMN limits jsonb NOT NULL DEFAULT '{}';
