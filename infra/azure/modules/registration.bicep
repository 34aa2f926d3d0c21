// The bot as Teams knows it; the managed identity is its account, so that there is no secret to rotate.
param tags object
param token string
param identity object
param endpoint string
param workspaceId string

resource registration 'Microsoft.BotService/botServices@2022-09-15' = {
  name: 'bot-frontdesk-${token}'
  location: 'global'
  tags: tags
  kind: 'azurebot'
  sku: { name: 'F0' }
  properties: {
    displayName: 'Frontdesk'
    endpoint: endpoint
    msaAppId: identity.clientId
    msaAppMSIResourceId: identity.id
    msaAppTenantId: identity.tenantId
    msaAppType: 'UserAssignedMSI'
    disableLocalAuth: true
    publicNetworkAccess: 'Enabled'
  }
}

resource teams 'Microsoft.BotService/botServices/channels@2022-09-15' = {
  parent: registration
  name: 'MsTeamsChannel'
  location: 'global'
  properties: {
    channelName: 'MsTeamsChannel'
    properties: { isEnabled: true, enableCalling: false }
  }
}

resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: registration
  name: 'requests'
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'BotRequest', enabled: true }]
  }
}
