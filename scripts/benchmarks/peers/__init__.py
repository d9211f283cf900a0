"""OpenNMT-tf and CTranslate2, measured in environments of their own."""
