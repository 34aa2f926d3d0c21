// The record and ingestion's own tables, reachable from the network alone.
param location string
param tags object
param token string
param sku object
param zoneRedundant bool
param subnetId string
param dnsZoneId string
@secure()
param password string

var user = 'frontdesk'

resource server 'Microsoft.DBforPostgreSQL/flexibleServers@2024-08-01' = {
  name: 'psql-frontdesk-${token}'
  location: location
  tags: tags
  sku: { name: sku.name, tier: sku.tier }
  properties: {
    version: '16'
    administratorLogin: user
    administratorLoginPassword: password
    storage: { storageSizeGB: 32, autoGrow: 'Enabled' }
    backup: { backupRetentionDays: 14, geoRedundantBackup: 'Disabled' }
    highAvailability: { mode: zoneRedundant ? 'ZoneRedundant' : 'Disabled' }
    network: {
      delegatedSubnetResourceId: subnetId
      privateDnsZoneArmResourceId: dnsZoneId
      publicNetworkAccess: 'Disabled'
    }
    authConfig: { passwordAuth: 'Enabled', activeDirectoryAuth: 'Disabled' }
  }
}

resource database 'Microsoft.DBforPostgreSQL/flexibleServers/databases@2024-08-01' = {
  parent: server
  name: 'frontdesk'
  properties: { charset: 'UTF8', collation: 'en_US.utf8' }
}

output host string = server.properties.fullyQualifiedDomainName
output name string = database.name
output user string = user
