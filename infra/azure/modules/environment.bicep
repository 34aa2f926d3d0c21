// Where the containers run, and the share that holds uploaded documents for all of them.
param location string
param tags object
param token string
param workspaceName string
param subnetId string
param storageSku string

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' existing = {
  name: workspaceName
}

resource environment 'Microsoft.App/managedEnvironments@2024-03-01' = {
  name: 'cae-frontdesk-${token}'
  location: location
  tags: tags
  properties: {
    vnetConfiguration: { infrastructureSubnetId: subnetId, internal: false }
    workloadProfiles: [{ name: 'Consumption', workloadProfileType: 'Consumption' }]
    appLogsConfiguration: {
      destination: 'log-analytics'
      logAnalyticsConfiguration: {
        customerId: workspace.properties.customerId
        sharedKey: workspace.listKeys().primarySharedKey
      }
    }
  }
}

// Container Apps mount a share by the account's key: it is the one key in this deployment.
resource account 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  name: 'stfrontdesk${token}'
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: storageSku }
  // checkov:skip=CKV_AZURE_206: a parameter; production has GRS
  // checkov:skip=CKV_AZURE_43: the name is computed: 21 lower-case letters and digits
  properties: {
    allowBlobPublicAccess: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    networkAcls: {
      defaultAction: 'Deny'
      bypass: 'AzureServices'
      virtualNetworkRules: [{ id: subnetId, action: 'Allow' }]
    }
  }
}

resource files 'Microsoft.Storage/storageAccounts/fileServices@2023-05-01' = {
  parent: account
  name: 'default'
  properties: { shareDeleteRetentionPolicy: { enabled: true, days: 14 } }
}

resource share 'Microsoft.Storage/storageAccounts/fileServices/shares@2023-05-01' = {
  parent: files
  name: 'frontdesk'
  properties: { shareQuota: 32, enabledProtocols: 'SMB' }
}

// The jobs see which spaces uploads fill, so that they leave them alone.
resource readOnly 'Microsoft.App/managedEnvironments/storages@2024-03-01' = {
  parent: environment
  name: 'frontdesk-read'
  properties: {
    azureFile: {
      accountName: account.name
      accountKey: account.listKeys().keys[0].value
      shareName: share.name
      accessMode: 'ReadOnly'
    }
  }
}

resource mounted 'Microsoft.App/managedEnvironments/storages@2024-03-01' = {
  parent: environment
  name: 'frontdesk'
  properties: {
    azureFile: {
      accountName: account.name
      accountKey: account.listKeys().keys[0].value
      shareName: share.name
      accessMode: 'ReadWrite'
    }
  }
}

output id string = environment.id
output domain string = environment.properties.defaultDomain
output volume string = mounted.name
output readOnlyVolume string = readOnly.name
