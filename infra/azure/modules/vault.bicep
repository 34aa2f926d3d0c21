// Every secret there is. The containers are given references to them, never values.
param location string
param tags object
param token string
param databaseHost string
param databaseName string
param databaseUser string
param readers array
@secure()
param databasePassword string
@secure()
param adminToken string
@secure()
param confluenceToken string
@secure()
param slackBotToken string
@secure()
param slackSigningSecret string

// Key Vault Secrets User
var reader = '4633458b-17de-408a-b874-0445c86b69e6'

resource vault 'Microsoft.KeyVault/vaults@2023-07-01' = {
  name: 'kv-frontdesk-${token}'
  location: location
  tags: tags
  properties: {
    tenantId: subscription().tenantId
    sku: { family: 'A', name: 'standard' }
    enableRbacAuthorization: true
    enableSoftDelete: true
    enablePurgeProtection: true
    softDeleteRetentionInDays: 30
  }
  // checkov:skip=CKV_AZURE_109: no keys; whoever has no role is refused (docs/azure.md, Network)
  // checkov:skip=CKV_AZURE_189: as before
}

resource databaseUrl 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = {
  parent: vault
  // checkov:skip=CKV_AZURE_41: rotated as docs/azure-running.md says; a date alone would stop the bot
  name: 'database-url'
  tags: tags
  properties: {
    contentType: 'DATABASE_URL'
    value: 'postgresql://${databaseUser}:${uriComponent(databasePassword)}@${databaseHost}/${databaseName}?sslmode=require'
  }
}

resource admin 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = {
  parent: vault
  // checkov:skip=CKV_AZURE_41: rotated as docs/azure-running.md says; a date alone would stop the bot
  name: 'admin-token'
  tags: tags
  properties: { contentType: 'FRONTDESK_ADMIN_TOKEN', value: adminToken }
}

resource confluence 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = if (!empty(confluenceToken)) {
  parent: vault
  // checkov:skip=CKV_AZURE_41: rotated as docs/azure-running.md says; a date alone would stop the bot
  // checkov:skip=CKV_AZURE_114: it has one; it is not seen behind `if`
  name: 'confluence-token'
  tags: tags
  properties: { contentType: 'CONFLUENCE_TOKEN', value: confluenceToken }
}

resource slackBot 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = if (!empty(slackBotToken)) {
  parent: vault
  // checkov:skip=CKV_AZURE_41: rotated as docs/azure-running.md says; a date alone would stop the bot
  // checkov:skip=CKV_AZURE_114: it has one; it is not seen behind `if`
  name: 'slack-bot-token'
  tags: tags
  properties: { contentType: 'SLACK_BOT_TOKEN', value: slackBotToken }
}

resource slackSigning 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = if (!empty(slackSigningSecret)) {
  parent: vault
  // checkov:skip=CKV_AZURE_41: rotated as docs/azure-running.md says; a date alone would stop the bot
  // checkov:skip=CKV_AZURE_114: it has one; it is not seen behind `if`
  name: 'slack-signing-secret'
  tags: tags
  properties: { contentType: 'SLACK_SIGNING_SECRET', value: slackSigningSecret }
}

resource roles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in readers: {
    scope: vault
    name: guid(vault.id, principal, reader)
    properties: {
      principalId: principal
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', reader)
    }
  }
]

output uri string = vault.properties.vaultUri
