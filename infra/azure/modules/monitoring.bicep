// Where the container's lines and the bot registration's go; secrets and, by choice, questions are not in them.
param location string
param tags object
param token string

@minValue(30)
@maxValue(730)
param keptDays int = 30

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' = {
  name: 'log-frontdesk-${token}'
  location: location
  tags: tags
  properties: {
    sku: { name: 'PerGB2018' }
    retentionInDays: keptDays
    features: { enableLogAccessUsingOnlyResourcePermissions: true }
  }
}

output workspaceName string = workspace.name
output workspaceId string = workspace.id
