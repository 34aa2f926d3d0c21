// Two identities, so that what answers colleagues can't change how the index is made.
param location string
param tags object
param token string

resource bot 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: 'id-frontdesk-bot-${token}'
  location: location
  tags: tags
}

resource ingestion 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: 'id-frontdesk-ingestion-${token}'
  location: location
  tags: tags
}

output bot object = {
  id: bot.id
  clientId: bot.properties.clientId
  principalId: bot.properties.principalId
  tenantId: bot.properties.tenantId
}
output ingestion object = {
  id: ingestion.id
  clientId: ingestion.properties.clientId
  principalId: ingestion.properties.principalId
  tenantId: ingestion.properties.tenantId
}
